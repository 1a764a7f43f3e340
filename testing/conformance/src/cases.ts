import { ACCESS_CASES } from './access.ts'
import { APPLY_CASES } from './apply.ts'
import { APP_CASES } from './apps.ts'
import { ATTACHMENT_CASES } from './attachments.ts'
import type { Cases } from './case.ts'
import { CLAIM_CASES } from './claims.ts'
import { CLASS_CASES } from './classes.ts'
import { CORE_CASES } from './core.ts'
import { IDENTITY_CASES } from './identity.ts'
import { LIST_CASES } from './lists.ts'
import { MANAGER_CASES } from './managers.ts'
import { SHAPE_CASES } from './shapes.ts'
import { VERB_CASES } from './verbs.ts'
import { VOLUME_CASES } from './volumes.ts'
import { WORKLOAD_CASES } from './workloads.ts'

/** All cases. */
export const CONFORMANCE_CASES: Cases = {
  ...CLAIM_CASES,
  ...VOLUME_CASES,
  ...ATTACHMENT_CASES,
  ...CLASS_CASES,
  ...CORE_CASES,
  ...VERB_CASES,
  ...LIST_CASES,
  ...IDENTITY_CASES,
  ...ACCESS_CASES,
  ...APP_CASES,
  ...WORKLOAD_CASES,
  ...APPLY_CASES,
  ...MANAGER_CASES,
  ...SHAPE_CASES,
}
