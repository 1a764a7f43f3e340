import {
  comparable,
  expectedOutcome,
  type MigrationInput,
  type MigrationOutcome,
  migrationCases,
  outcomeOf,
} from '@csi-sidecars/csi-translation/testing'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import { attachmentProjection } from '../src/caches/attachment.ts'
import { volumeProjection } from '../src/caches/volume.ts'
import { releasePatch, type VolumeReleaseSettings } from '../src/persistent-volume/decide.ts'
import { onVolume } from '../src/persistent-volume/triggers.ts'
import { finalizerName } from '../src/term/finalizer-name.ts'
import { apiError } from '../src/testing/api-error.ts'
import { DRIVER } from '../src/testing/views.ts'
import { secretIsReferenced } from '../src/volume-attachment/checks.ts'
import { callSource, listedHandle, type PublishSourceFailure } from '../src/volumes/call-source.ts'
import { type AttachVolumeView, readVolume } from '../src/volumes/volume-view.ts'

/** The functions of the attacher that the migration cases test, by the `direction` of a case. */
const OPERATIONS = new Map<string, (input: MigrationInput) => unknown>([
  [
    'attacherEnqueuesPV',
    ({ attacherName = '', pv }) => {
      const object = volumeProjection(attacherName)(pv ?? {})
      return [...onVolume(settingsOf(attacherName))({ type: 'added', object })].length > 0
    },
  ],
  [
    'attacherRemovesPVFinalizer',
    ({ attacherName = '', pv, volumeAttachments = [] }) => {
      const volume = volumeProjection(attacherName)(pv ?? {})
      const attachments = volumeAttachments.map((va) => attachmentProjection(attacherName)(va))
      const ofVolume = attachments.filter(({ pvName }) => pvName === volume.key)
      return releasePatch(volume, ofVolume, settingsOf(attacherName)) !== undefined
    },
  ],
  [
    'attacherCSISource',
    async (input) => {
      const source = callSource(await volumeView(input))
      if (!source.ok) throw coded(source)
      const { csi, migrated } = source
      return {
        migrated: String(migrated),
        volumeId: csi.volumeHandle,
        volumeContext: csi.volumeAttributes,
        fsType: csi.fsType,
        readOnly: csi.readOnly,
        publishSecretRef: secretIsReferenced({ source })?.steps[0]?.ref,
      }
    },
  ],
  [
    'attacherReconcileHandle',
    async (input) => {
      const listed = listedHandle(await volumeView(input), input.nodeID ?? '')
      if (!listed.ok) throw coded(listed)
      return listed.volumeHandle
    },
  ],
  ['attacherFinalizerName', ({ driverName = '' }) => finalizerName(driverName)],
])

const settingsOf = (driverName: string): VolumeReleaseSettings => ({ driverName, finalizer: finalizerName(driverName) })

/** Returns the volume as the app reads it: from the caches, or from the API for another driver's volume. */
function volumeView({ volumeAttachmentSource = {}, pv }: MigrationInput): Promise<AttachVolumeView> {
  const spec = { attacher: DRIVER, nodeName: 'node1', source: volumeAttachmentSource }
  const va = attachmentProjection(DRIVER)({ metadata: { name: 'va1' }, spec })
  const volume = pv == null ? undefined : volumeProjection(DRIVER)(pv)
  const volumes = { get: () => volume }
  const get = async (): Promise<never> => (pv as PersistentVolume & never) ?? Promise.reject(apiError(404, 'NotFound'))
  return readVolume(va, { volumes, api: { get } }, new AbortController().signal)
}

const coded = ({ code, message }: PublishSourceFailure): Error => Object.assign(new Error(message), { code })

/** Removes absent, empty and false fields from a source before it is compared, except from the volume context. */
function asSource(outcome: MigrationOutcome): MigrationOutcome {
  if (!('output' in outcome) || typeof outcome.output !== 'object') return outcome
  const { volumeContext, ...rest } = outcome.output as Readonly<Record<string, unknown>>
  return { output: comparable({ csi: { ...rest, volumeAttributes: volumeContext } }) }
}

for (const each of migrationCases((direction) => direction.startsWith('attacher'))) {
  it(`the attacher returns the expected result for migration case ${each.id}`, async () => {
    const operation = OPERATIONS.get(each.direction)
    if (operation === undefined) throw new Error(`no operation for ${each.direction}`)
    const before = structuredClone(each.input)
    const [settled] = await Promise.allSettled([Promise.try(operation, each.input)])
    const outcome = outcomeOf(() => {
      if (settled.status === 'rejected') throw settled.reason
      return settled.value
    })
    expect(asSource(outcome)).toEqual(asSource(expectedOutcome(each)))
    expect(each.input).toEqual(before)
  })
}
