import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { attributesClass, CLAIM_REF, type ClaimFields, claim, type VolumeFields, volume } from './builders.ts'
import { type FixtureOptions, ResizerFixture } from './fixture.ts'

/** Starts a resizer with a claim, its volume and the VolumeAttributesClasses gold and silver. */
export async function beginModify(
  fields: ClaimFields = {},
  volumeParts: VolumeFields = {},
  options: FixtureOptions = {},
): Promise<ResizerFixture> {
  const fixture = new ResizerFixture(options)
  fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('gold'))
  fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('silver'))
  fixture.cluster.store(PERSISTENT_VOLUMES, volume(volumeParts))
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim(fields))
  await fixture.start()
  return fixture
}

/** Requests another class for the claim, or none. */
export async function wantClass({ cluster, clock }: ResizerFixture, name: string | null): Promise<void> {
  cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { spec: { volumeAttributesClassName: name } })
  await clock.settle()
}
