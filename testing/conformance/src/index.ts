import { ACCESS_CASES } from './access.ts'
import type { Cases } from './case.ts'
import { CLAIM_CASES } from './claims.ts'
import { ATTACHMENT_CASES, CLASS_CASES, IDENTITY_CASES } from './classes.ts'
import { CORE_CASES } from './core.ts'
import { OTHER_CASES } from './other.ts'
import { SHAPE_CASES } from './shapes.ts'
import { SNAPSHOT_CASES } from './snapshots.ts'
import { LIST_CASES, VERB_CASES } from './verbs.ts'
import { VOLUME_CASES } from './volumes.ts'

export { compare, readRecorded, writeRecorded } from './compare.ts'
export { type ComparedServer as Server, runConformance } from './run.ts'

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
  ...OTHER_CASES,
  ...SHAPE_CASES,
  ...SNAPSHOT_CASES,
}
