import { ok } from 'node:assert'
import {
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { attributesClass } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { pause } from '../../harness/waiting.ts'
import { type BoundParts, bound, type ResizerScene, type SceneSetup, scene, untilClaim } from './scene.ts'

export const WATCHES = ['persistentvolumeclaims', 'persistentvolumes', 'volumeattributesclasses']

/** A driver that modifies, the classes gold and silver, and a claim. */
export async function modifying(
  t: TestContext,
  setup: SceneSetup & { readonly bound?: BoundParts } = {},
): Promise<ResizerScene> {
  const { bound: parts, ...rest } = setup
  for (const name of ['gold', 'silver']) {
    await t.create(VOLUME_ATTRIBUTES_CLASSES, attributesClass(t.name(name), t.driverName, { tier: name }))
  }
  const at = await scene(t, { controller: ['MODIFY_VOLUME'], watches: WATCHES, ...rest })
  await bound(t, parts)
  await pause(200)
  return at
}

export async function want(t: TestContext, className: string | null): Promise<void> {
  const body = { spec: { volumeAttributesClassName: className } }
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: t.name('pvc') }, body)
}

export function modified(t: TestContext, className: string): Promise<PersistentVolumeClaim> {
  return untilClaim(
    t,
    ({ status }) => status?.currentVolumeAttributesClassName === className && status.modifyVolumeStatus === undefined,
  )
}

export const modifies = ({ driver }: ResizerScene): readonly Call[] => driver.callsOf('ControllerModifyVolume')
export const stateOf = ({ status }: PersistentVolumeClaim): unknown => status?.modifyVolumeStatus
export const untilState = (t: TestContext, word: string) =>
  untilClaim(t, ({ status }) => status?.modifyVolumeStatus?.status === word)
export const condition = (claim: PersistentVolumeClaim, type: string) => {
  const { lastProbeTime, lastTransitionTime, ...rest } =
    claim.status?.conditions?.find((each) => each.type === type) ?? {}
  ok(lastProbeTime !== null, 'lastProbeTime is set on every write')
  return rest
}
