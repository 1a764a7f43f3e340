import { ACCESS_STORIES } from './access.ts'
import { APPLY_STORIES } from './apply.ts'
import { APP_STORIES } from './apps.ts'
import { ATTACHMENT_STORIES } from './attachments.ts'
import { CLAIM_STORIES } from './claims.ts'
import { CLASS_STORIES } from './classes.ts'
import { CORE_STORIES } from './core.ts'
import { IDENTITY_STORIES } from './identity.ts'
import { LIST_STORIES } from './lists.ts'
import { MANAGER_STORIES } from './managers.ts'
import { SHAPE_STORIES } from './shapes.ts'
import type { ConformanceCase } from './story.ts'
import { VERB_STORIES } from './verbs.ts'
import { VOLUME_STORIES } from './volumes.ts'
import { WORKLOAD_STORIES } from './workloads.ts'

/** Everything that is asked of a server. */
export const STORIES: readonly ConformanceCase[] = [
  ...CLAIM_STORIES,
  ...VOLUME_STORIES,
  ...ATTACHMENT_STORIES,
  ...CLASS_STORIES,
  ...CORE_STORIES,
  ...VERB_STORIES,
  ...LIST_STORIES,
  ...IDENTITY_STORIES,
  ...ACCESS_STORIES,
  ...APP_STORIES,
  ...WORKLOAD_STORIES,
  ...APPLY_STORIES,
  ...MANAGER_STORIES,
  ...SHAPE_STORIES,
]
