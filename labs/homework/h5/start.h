// SPDX-License-Identifier: MIT
// Homework h5: what a student gets beside the starter: job.ini, job.model and cluster.net, as the job runs now.
#pragma once

//   errors: CLAB_ENOENT (it can not be written; logged), those of homework_seed
struct homework_question;
// Questions about this job (homework.h).
int h5_ask(const char *student, struct homework_question *questions_p);
int h5_start(const char *student, const char *folder);
