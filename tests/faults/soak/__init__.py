"""The soak: trials with faults, one after the other, in processes that stay; memory, descriptors and threads must stay flat."""
