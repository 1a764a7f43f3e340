import { deepStrictEqual as equal, ok } from 'node:assert'
import { type PersistentVolumeClaim, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { attributesClass } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { pause } from '../../harness/waiting.ts'
import { type BoundParts, bound, editClaim, type ResizerScene, type SceneSetup, scene, untilClaim } from './scene.ts'

export const WATCHES = ['persistentvolumeclaims', 'persistentvolumes', 'volumeattributesclasses']

/** A driver that modifies, the classes gold and silver, and a claim. */
export async function modifying(
  t: TestContext,
  setup: SceneSetup & { readonly bound?: BoundParts } = {},
): Promise<ResizerScene> {
  const { bound: parts, ...rest } = setup
  for (const name of ['gold', 'silver']) await createTier(t, name)
  const at = await scene(t, { controller: ['MODIFY_VOLUME'], watches: WATCHES, ...rest })
  await bound(t, parts)
  await pause(200)
  return at
}

/** A VolumeAttributesClass with this tier as its parameter. */
export async function createTier(t: TestContext, tier: string, driver = t.driverName): Promise<string> {
  await t.create(VOLUME_ATTRIBUTES_CLASSES, attributesClass(t.name(tier), driver, { tier }))
  return t.name(tier)
}

export async function want(t: TestContext, className: string | null): Promise<void> {
  await editClaim(t, { spec: { volumeAttributesClassName: className } })
}

/** Requests the class of this tier, and waits until the claim has it. */
export async function modify(t: TestContext, tier: string): Promise<PersistentVolumeClaim> {
  await want(t, t.name(tier))
  return modified(t, t.name(tier))
}

export function modified(t: TestContext, className: string): Promise<PersistentVolumeClaim> {
  return untilClaim(
    t,
    ({ status }) => status?.currentVolumeAttributesClassName === className && status.modifyVolumeStatus === undefined,
  )
}

export const modifies = ({ driver }: ResizerScene): readonly Call[] => driver.callsOf('ControllerModifyVolume')
/** The tier, and no other parameter. */
export function tierOf({ request }: Call): unknown {
  const { tier, ...others } = request['mutable_parameters'] as Record<string, unknown>
  equal(others, {})
  return tier
}

export const tiersOf = (at: ResizerScene): unknown[] => modifies(at).map(tierOf)
export const stateOf = ({ status }: PersistentVolumeClaim): unknown => status?.modifyVolumeStatus
export const untilState = (t: TestContext, word: string) =>
  untilClaim(t, ({ status }) => status?.modifyVolumeStatus?.status === word)
export const condition = (claim: PersistentVolumeClaim, type: string) => {
  const { lastProbeTime, lastTransitionTime, ...rest } =
    claim.status?.conditions?.find((each) => each.type === type) ?? {}
  ok(lastProbeTime !== null, 'lastProbeTime is set on every write')
  return rest
}
