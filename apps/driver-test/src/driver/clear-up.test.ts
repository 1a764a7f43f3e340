import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { CreateVolume, type CreateVolumeRequest } from '@csi-sidecars/csi-proto'
import { answered } from '@csi-sidecars/disturb/testing/proxied-calls'
import { startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { openDriver } from '@csi-sidecars/volume-controllers'
import { expect, it } from '@jest/globals'
import { VolumeTracker } from '../checks/volume-tracker.ts'
import { clearUp } from './clear-up.ts'
import { OwnNodes } from './nodes.ts'

const { signal } = new AbortController()

it.each([{ wasMade: true }, { wasMade: false }])(
  'after a CreateVolume without an answer, the cleanup leaves no volume (volume existed: $wasMade)',
  async ({ wasMade }) => {
    await using stack = new AsyncDisposableStack()
    const directory = await mkdtemp(join(tmpdir(), 'clear-up-'))
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    const clock = systemClock
    const emulated = stack.use(await startCsiDriver({ socket: join(directory, 'csi.sock'), clock }))
    const driver = await openDriver({
      address: emulated.address,
      clock,
      log: silentLogger,
      signal,
      services: 'controller',
    })
    stack.defer(() => driver.close())
    const request: CreateVolumeRequest = {
      name: 'pvc-1',
      capacityRange: { requiredBytes: 1024n, limitBytes: 0n },
      volumeCapabilities: [{ accessType: { $case: 'mount', value: mounted }, accessMode: { mode: 1 } }],
      parameters: {},
      secrets: {},
      volumeContentSource: undefined,
      accessibilityRequirements: undefined,
      mutableParameters: {},
    }
    if (wasMade) await driver.call(CreateVolume, request, { timeoutMs: 5_000, signal })
    const tracker = new VolumeTracker()
    for (const call of answered('CreateVolume', { ...request }, { code: undefined, response: undefined }))
      tracker.see(call)
    const left = await clearUp({ driver, nodes: new OwnNodes([], directory), clock, tracker }, signal)
    expect([left, emulated.volumes.all]).toEqual([[], []])
    expect(emulated.calls.filter(({ method }) => method === 'DeleteVolume')).toHaveLength(1)
  },
)

const mounted = { fsType: '', mountFlags: [], volumeMountGroup: '' }
