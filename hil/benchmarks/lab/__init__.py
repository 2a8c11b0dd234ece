"""`hil bench lab`: a large lab on paper and by simulation, with labgrid's own scheduler and a real history."""
