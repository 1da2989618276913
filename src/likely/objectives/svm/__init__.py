"""Support vector machines: what they minimise, and how."""
