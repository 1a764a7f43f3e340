import type {
  ControllerPublishVolumeRequest,
  ControllerUnpublishVolumeRequest,
  CreateVolumeRequest,
  DeleteVolumeRequest,
  ListVolumesRequest,
  ListVolumesResponse,
  NodeStageVolumeRequest,
} from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { describe, expect, it } from '@jest/globals'
import { type EmulatedParts, foundDirectly } from '../testing/direct-setting.ts'
import { askStrictly } from './strict.ts'

type Spoil = (emulated: EmulatedParts) => void

/** Returns a bug: the method succeeds with this answer instead of an error. */
const accepting =
  (method: string, answer: object): Spoil =>
  ({ driver }) =>
    driver.script(method, (request: object) => {
      try {
        return driver.usualAnswer<object, object>(method, request)
      } catch {
        return answer
      }
    })

const ROWS: readonly (readonly [string, Spoil, string, RegExp])[] = [
  [
    'publishes a ReadWriteOnce volume to two nodes',
    onTwo,
    'oneNode',
    /, a volume for one node that is on worker-1, to worker-2 was answered with OK, not with FailedPrecondition/,
  ],
  [
    'deletes a published volume',
    deletes,
    'inUse',
    /^DeleteVolume of vol-\d+ while it is published to worker-1 was answered with OK/,
  ],
  ['lists only the first page', onePage, 'listed', /^ListVolumes with one entry a page: volume vol-\d+ is on 0 pages/],
  [
    'creates a volume without a name',
    nameless,
    'strict',
    /^CreateVolume without a name was answered with OK, not with InvalidArgument/,
  ],
  [
    'accepts the name of an existing volume with another size',
    anySize,
    'strict',
    /^CreateVolume of a known name with another size was answered with OK/,
  ],
  [
    'publishes an unknown volume',
    accepting('ControllerPublishVolume', { publishContext: {} }),
    'strict',
    /^ControllerPublishVolume of an unknown volume was answered with OK, not with NotFound/,
  ],
  [
    'expands an unknown volume',
    accepting('ControllerExpandVolume', { capacityBytes: 1n, nodeExpansionRequired: false }),
    'strict',
    /^ControllerExpandVolume of an unknown volume was answered with OK/,
  ],
  [
    'fails to delete an unknown volume',
    knownOnly,
    'strict',
    /^DeleteVolume of an unknown volume was answered with NotFound "gone", not with OK/,
  ],
  ['lists a page of volumes twice', twice, 'listed', /^ListVolumes with one entry a page: a page has 2 entries/],
  [
    'fails a repeated CreateVolume of a clone',
    forgetsClones,
    'idempotence',
    /^CreateVolume of csi-devcluster-clone-1 had succeeded, and failed when it was repeated/,
  ],
  ['does not detach a volume', leaves, 'ended', /^volume vol-\d+ is listed on worker-1 after a detach from there/],
  ['also detaches from another node', detachesAll, 'kept', /is not listed there, after a detach from worker-2 alone/],
  ['stages without a path', stages, 'strict', /^NodeStageVolume without a path was answered with OK/],
]

function onTwo({ driver }: EmulatedParts): void {
  driver.script('ControllerPublishVolume', (request: ControllerPublishVolumeRequest) => {
    driver.volumes.get(request.volumeId)?.attachments.clear()
    return driver.usualAnswer<object, object>('ControllerPublishVolume', request)
  })
}

function deletes({ driver }: EmulatedParts): void {
  driver.script('DeleteVolume', (request: DeleteVolumeRequest) => {
    if (request.volumeId !== '') driver.volumes.delete(request.volumeId)
    return driver.usualAnswer<object, object>('DeleteVolume', request)
  })
}

function nameless({ driver }: EmulatedParts): void {
  driver.script('CreateVolume', (request: CreateVolumeRequest) =>
    driver.usualAnswer<object, object>('CreateVolume', { ...request, name: request.name || 'anything' }),
  )
}

function anySize({ driver }: EmulatedParts): void {
  driver.script('CreateVolume', (request: CreateVolumeRequest) => {
    const existing = driver.volumes.named(request.name)
    const capacityRange = existing ? undefined : request.capacityRange
    return driver.usualAnswer<object, object>('CreateVolume', { ...request, capacityRange })
  })
}

function knownOnly({ driver }: EmulatedParts): void {
  driver.script('DeleteVolume', (request: DeleteVolumeRequest) => {
    if (request.volumeId.includes('unknown')) throw new DriverFailure('NOT_FOUND', 'gone')
    return driver.usualAnswer<object, object>('DeleteVolume', request)
  })
}

function onePage({ driver }: EmulatedParts): void {
  driver.script('ListVolumes', (request: ListVolumesRequest) => {
    const answer = driver.usualAnswer<ListVolumesRequest, ListVolumesResponse>('ListVolumes', request)
    return { ...answer, nextToken: '' }
  })
}

function twice({ driver }: EmulatedParts): void {
  driver.script('ListVolumes', (request: ListVolumesRequest) => {
    const { entries, nextToken } = driver.usualAnswer<ListVolumesRequest, ListVolumesResponse>('ListVolumes', request)
    return { entries: [...entries, ...entries], nextToken }
  })
}

function forgetsClones({ driver }: EmulatedParts): void {
  driver.script('CreateVolume', (request: CreateVolumeRequest) => {
    const existsAlready = request.volumeContentSource !== undefined && driver.volumes.named(request.name) !== undefined
    if (existsAlready) throw new DriverFailure('ALREADY_EXISTS', 'existing volume source volume id not matching')
    return driver.usualAnswer<object, object>('CreateVolume', request)
  })
}

function leaves({ driver }: EmulatedParts): void {
  driver.script('ControllerUnpublishVolume', () => ({}))
}

function detachesAll({ driver }: EmulatedParts): void {
  driver.script('ControllerUnpublishVolume', (request: ControllerUnpublishVolumeRequest) => {
    driver.volumes.get(request.volumeId)?.attachments.clear()
    return driver.usualAnswer<object, object>('ControllerUnpublishVolume', request)
  })
}

function stages({ nodes }: EmulatedParts): void {
  for (const node of nodes) {
    node.script('NodeStageVolume', (request: NodeStageVolumeRequest) =>
      request.stagingTargetPath === '' ? {} : node.usualAnswer<object, object>('NodeStageVolume', request),
    )
  }
}

describe('askStrictly', () => {
  it('the check with unusual requests accepts a correct driver, and leaves no volume', async () => {
    expect(await foundDirectly(() => undefined, askStrictly)).toEqual({ findings: [], left: [] })
  })

  it.each(ROWS)('the check with unusual requests finds a driver that %s', async (_, spoil, check, text) => {
    const { findings } = await foundDirectly(spoil, askStrictly)
    expect(findings).toContainEqual(expect.objectContaining({ check, text: expect.stringMatching(text) }))
  })
})
