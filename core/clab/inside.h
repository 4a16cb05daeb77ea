// SPDX-License-Identifier: MIT
// What the parts of the facade share.
#pragma once

struct clab_domain;

// From now on clab_seconds is of this domain's backend; NULL: of the wall clock.
void clab_time_follow(const struct clab_domain *domain);
