"""The debates of this process: start, run, wait, lease, daily budget, recovery, forks, transfer, queries."""
