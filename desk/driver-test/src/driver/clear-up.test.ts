import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { CreateSnapshot, CreateVolume, type CreateVolumeRequest } from '@csi-sidecars/csi-proto'
import { answered, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { openDriver } from '@csi-sidecars/volume-controllers'
import { expect, it } from '@jest/globals'
import { Checker } from '../checks/checker.ts'
import { clearUp } from './clear-up.ts'
import { OwnNodes } from './nodes.ts'

const controller = ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'] as const
const { signal } = new AbortController()

it.each([
  { wasMade: true, namesNone: false },
  { wasMade: false, namesNone: false },
  { wasMade: false, namesNone: true },
])(
  'after creations without an answer, the cleanup leaves no volume and no snapshot, and deletes none without an ID: %j',
  async ({ wasMade, namesNone }) => {
    await using stack = new AsyncDisposableStack()
    const directory = await mkdtemp(join(tmpdir(), 'clear-up-'))
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    const clock = systemClock
    const emulated = stack.use(await startCsiDriver({ socket: join(directory, 'csi.sock'), clock, controller }))
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
    const source = emulated.volumes.add({ name: 'pvc-2', capacityBytes: 1024n }).id
    const createSnapshot = (name: string) => {
      const request = {
        name,
        sourceVolumeId: source,
        parameters: {},
        secrets: {},
        accessibilityRequirements: undefined,
      }
      return { request, call: () => driver.call(CreateSnapshot, request, { timeoutMs: 5_000, signal }) }
    }
    if (wasMade) await driver.call(CreateVolume, request, { timeoutMs: 5_000, signal })
    if (wasMade) await createSnapshot('snapshot-1').call()
    const { snapshot } = await createSnapshot('snapshot-2').call()
    const checker = new Checker({ startedAt: 0, shortened: (path) => path })
    const lost = { code: undefined, response: undefined }
    for (const call of [
      ...created('pvc-2', source, 1024n),
      ...answered('CreateVolume', { ...request }, lost),
      ...answered('CreateSnapshot', createSnapshot('snapshot-1').request, lost),
      ...answered('CreateSnapshot', createSnapshot('snapshot-2').request, { response: { snapshot } }),
    ])
      checker.see(call)
    if (namesNone) for (const method of ['CreateVolume', 'CreateSnapshot']) emulated.script(method, () => ({}))
    const left = await clearUp({ driver, nodes: new OwnNodes([], directory), clock, checker }, signal)
    expect([left, emulated.volumes.all, emulated.volumes.snapshots.all]).toEqual([[], [], []])
    const deletions = emulated.calls.filter(({ method }) => method.startsWith('Delete'))
    expect(deletions.map(({ method }) => method)).toEqual([
      ...Array(namesNone ? 1 : 2).fill('DeleteSnapshot'),
      ...Array(namesNone ? 1 : 2).fill('DeleteVolume'),
    ])
  },
)

const mounted = { fsType: '', mountFlags: [], volumeMountGroup: '' }
