import { expectedOutcome, type MigrationInput, migrationCases, outcomeOf } from '@csi-sidecars/csi-translation/testing'
import { expect, it } from '@jest/globals'
import { projectClaim } from '../src/caches/claim.ts'
import { volumeProjection, wholeVolume } from '../src/caches/volume.ts'
import { expandSource, isOurs } from '../src/resize/source.ts'

/** The functions of the resizer that the migration cases test, by the `direction` of a case. */
const OPERATIONS = new Map<string, (input: MigrationInput) => unknown>([
  [
    'resizerCanSupport',
    ({ driverName = '', pv, pvc }) => {
      const volume = volumeProjection(driverName)(pv ?? {})
      // The claim gets a volume name, because `projectClaim` would drop the fields of an unbound claim.
      const claim = projectClaim({ ...pvc, spec: { volumeName: 'any', ...pvc?.spec } })
      return isOurs(claim, volume, driverName)
    },
  ],
  [
    'resizerExpandSource',
    ({ driverName = '', pv }) => {
      const { key, source } = wholeVolume(pv ?? {})
      const { spec, csi, migrated } = expandSource(key, source ?? {}, driverName)
      return {
        migrated: String(migrated),
        volumeId: csi.volumeHandle,
        fsType: csi.fsType ?? '',
        accessModes: spec.accessModes,
        expandSecretRef: csi.controllerExpandSecretRef,
      }
    },
  ],
])

for (const each of migrationCases((direction) => direction.startsWith('resizer'))) {
  it(`the resizer returns the expected result for migration case ${each.id}`, () => {
    const operation = OPERATIONS.get(each.direction)
    if (operation === undefined) throw new Error(`no operation for ${each.direction}`)
    const before = structuredClone(each.input)
    expect(outcomeOf(() => operation(each.input))).toEqual(expectedOutcome(each))
    expect(each.input).toEqual(before)
  })
}
