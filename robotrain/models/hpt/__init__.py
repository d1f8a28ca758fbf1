"""HPT: heterogeneous stems, a shared trunk, a flow-matching head."""
