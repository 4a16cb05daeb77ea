// SPDX-License-Identifier: MIT
// Homework h5: what a student gets beside the starter: job.ini, job.model and cluster.net, as the job runs now.
#pragma once

//   errors: CLAB_ENOENT (it can not be written; logged), those of homework_seed
int h5_start(const char *student, const char *folder);
