# Sourced by tests/run.sh and examples/*.sh, from the root of the checkout: makes .venv once and installs into it.

# Print the first Python of version 3.11 or newer: $PYTHON if set, else what is on the path.
find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python; do
        if command -v "$candidate" >/dev/null &&
            "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "robotrain needs Python 3.11 or newer with its venv module (on Debian: apt-get install python3-venv)." >&2
    return 1
}

# make_environment [EXTRA]: .venv with robotrain (editable) and, if named, an extra, at the versions of constraints.txt.
# Does nothing when that was done already and neither pyproject.toml nor constraints.txt changed since.
make_environment() {
    local extra="${1:-}" python wanted stamp
    python="$(find_python)"
    wanted="$(cat pyproject.toml constraints.txt | "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')"
    stamp=".venv/robotrain-installed${extra:+-$extra}"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return
    fi
    # what an extra installs includes plain robotrain
    if [ -z "$extra" ] && [ -f .venv/robotrain-installed-test ] && [ "$(cat .venv/robotrain-installed-test)" = "$wanted" ]; then
        return
    fi
    echo "Installing robotrain${extra:+[$extra]} into .venv (once; about a minute and 1.3 GB with the CPU build of torch)" >&2
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".${extra:+[$extra]}" >&2
    echo "$wanted" >"$stamp"
}
