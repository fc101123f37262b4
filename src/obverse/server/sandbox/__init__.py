"""The cage: a process for each question, forked ahead, that reads rows once and lets only noisy values out."""
