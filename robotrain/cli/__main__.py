"""`python -m robotrain.cli`: the same program, for machines whose path lacks the script."""

from robotrain.cli.app import main

main()
