"""Many runs: here, or on a cluster; each recorded, none twice."""
