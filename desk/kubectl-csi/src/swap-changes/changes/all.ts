import type { SwapChange } from '../change.ts'
import { ATTACHER_CHANGES } from './attacher.ts'
import { LIVENESSPROBE_CHANGES } from './livenessprobe.ts'
import { PROVISIONER_CHANGES } from './provisioner.ts'
import { RESIZER_CHANGES } from './resizer.ts'
import { SNAPSHOTTER_CHANGES } from './snapshotter.ts'

/** Every change, by sidecar, the newest first. */
export const CHANGES: readonly SwapChange[] = [
  ...ATTACHER_CHANGES,
  ...PROVISIONER_CHANGES,
  ...RESIZER_CHANGES,
  ...SNAPSHOTTER_CHANGES,
  ...LIVENESSPROBE_CHANGES,
]
