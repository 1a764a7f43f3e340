import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import type { CreateVolumeRequest } from '@csi-sidecars/csi-proto'
import { type CsiDriver, startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { Devcluster } from '../cluster/devcluster.ts'
import { openDriver } from '../driver/driver.ts'
import { runStandInAttacher, runStandInResizer } from '../testing/stand-ins.ts'
import { learnAbilities } from './abilities.ts'
import { runSeed, type SeedResult } from './seed.ts'

jest.setTimeout(120_000)

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'driver-test-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const PARTS = { clock: systemClock, log: silentLogger }

function standIns(cluster: Devcluster): void {
  const parts = { ...cluster, ...PARTS }
  cluster.controllers.start('csi-attacher', (life) => runStandInAttacher(parts, life))
  cluster.controllers.start('csi-resizer', (life) => runStandInResizer(parts, life))
}

async function judged(
  spoil: (driver: CsiDriver) => void,
  signal: AbortSignal = new AbortController().signal,
): Promise<SeedResult> {
  await using driver = await startCsiDriver({ socket: join(directory, 'driver.sock'), clock: systemClock })
  spoil(driver)
  const { address } = driver
  const direct = await openDriver({ ...PARTS, address, signal, nodeService: false })
  const nodeIds = ['node-a', 'node-b']
  const abilities = await learnAbilities(
    direct,
    { address, nodeIds, parameters: {}, capabilities: undefined, crash: false, clock: systemClock },
    signal,
  )
  try {
    return await runSeed(
      { seed: 1, durationMs: 4_000, calmMs: 15_000, abilities, parameters: {}, sidecars: {}, directory },
      { direct, address, kill: undefined, watchDeaths: () => () => undefined, ...PARTS, standIns },
      signal,
    )
  } finally {
    direct.close()
  }
}

describe('a seed', () => {
  it('finds nothing in a driver that keeps its promises', async () => {
    const result = await judged(() => undefined)
    expect(result).toMatchObject({ findings: [], clusterFaults: [], leftBehind: [] })
    expect(result.calls).toBeGreaterThan(10)
  })

  it('finds a driver that makes a volume for each call, tells the calls, and clears up what is named', async () => {
    let made: CsiDriver | undefined
    const result = await judged((driver) => {
      made = driver
      driver.script('CreateVolume', ({ name, capacityRange }: CreateVolumeRequest) => {
        const { id } = driver.volumes.add({ name, capacityBytes: capacityRange?.requiredBytes ?? 1n })
        return {
          volume: {
            volumeId: id,
            capacityBytes: 0n,
            volumeContext: {},
            contentSource: undefined,
            accessibleTopology: [],
          },
        }
      })
    })
    expect(result.findings.map(({ promise }) => promise)).toEqual(expect.arrayContaining(['oneVolume', 'noLeak']))
    const leak = result.findings.find(({ promise }) => promise === 'noLeak')
    expect(leak?.calls.join('\n')).toMatch(/CreateVolume pvc-/)
    const named = result.leftBehind.map((text) => /^volume (\S+): no answer names it/.exec(text)?.[1])
    expect(made?.volumes.all.map(({ id }) => id)).toEqual(named)
  })

  it('that is interrupted leaves nothing at the driver', async () => {
    const interrupt = new AbortController()
    let made: CsiDriver | undefined
    const result = judged((driver) => {
      made = driver
      driver.log.subscribe(({ method }) => {
        if (method === 'ControllerPublishVolume') interrupt.abort(new Error('Ctrl-C'))
      })
    }, interrupt.signal)
    await expect(result).rejects.toThrow('Ctrl-C')
    expect(made?.calls.some(({ method, code }) => method === 'DeleteVolume' && code === 0)).toBe(true)
    expect(made?.volumes.all).toEqual([])
  })
})
