"""The soak: trials with faults, one after the other, in processes that stay; what they hold must stay flat."""
