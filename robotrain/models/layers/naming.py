"""Names of embodiments and cameras as names of modules, which may hold no dot."""


def module_key(name: str) -> str:
    """Return a name that torch accepts for a module; different names stay different."""
    return name.replace("%", "%25").replace(".", "%2E")
