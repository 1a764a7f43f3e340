import { withDefaults } from '../schema/defaults.ts'
import type { ApiObject } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'
import { schemaOf } from '../schema/schema.ts'
import { CLASSES } from './classes.ts'
import { CORE } from './core.ts'
import { CSI } from './csi.ts'
import { persistentVolume } from './persistent-volume.ts'
import { persistentVolumeClaim } from './persistent-volume-claim.ts'
import { pod } from './pod.ts'
import { RBAC } from './rbac.ts'
import { SNAPSHOT_STRATEGIES } from './snapshots.ts'
import type { Strategies, Strategy } from './strategy.ts'
import { volumeAttachment } from './volume-attachment.ts'

const STRATEGIES: Strategies = {
  ...CLASSES,
  ...CORE,
  ...CSI,
  ...RBAC,
  ...SNAPSHOT_STRATEGIES,
  PersistentVolume: persistentVolume,
  PersistentVolumeClaim: persistentVolumeClaim,
  Pod: pod,
  VolumeAttachment: volumeAttachment,
}

const ORDINARY: Strategy = {}

export function strategyOf(kind: ServedKind): Strategy {
  return STRATEGIES[kind.kind] ?? ORDINARY
}

/** Fills the omitted fields of each written object. */
export function defaulted(kind: ServedKind, object: ApiObject): ApiObject {
  const filled = withDefaults(schemaOf(kind), object)
  return strategyOf(kind).defaults?.(filled) ?? filled
}
