import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CreateVolumeRequest, DeleteSnapshotRequest } from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure } from '@csi-sidecars/emulator'
import { afterAll, describe, expect, it, jest } from '@jest/globals'
import type { SeedResult } from './seed.ts'
import { seedResult } from './testing/seed-result.ts'

jest.setTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'seed-'))
afterAll(() => rmSync(folder, { recursive: true }))

function endingProgram(): string {
  const path = join(folder, 'ends')
  writeFileSync(path, '#!/bin/sh\nexit 3\n', { mode: 0o755 })
  return path
}

/** Returns the result of a run that creates and deletes more than three snapshots. A slow machine needs a longer run. */
async function resultWithSnapshots(): Promise<SeedResult> {
  for (let durationMs = 6_000; ; durationMs *= 2) {
    const result = await seedResult({ snapshots: true, durationMs })
    const fewest = Math.min(...['CreateSnapshot', 'DeleteSnapshot'].map((method) => result.callsOf.get(method) ?? 0))
    if (fewest > 3 || durationMs > 20_000) return result
  }
}

/** The tests run concurrently, because a seed mostly waits. */
describe('runSeed', () => {
  it.concurrent('the run of a seed finds nothing in a correct driver', async () => {
    const result = await seedResult({ strict: true })
    expect(result).toMatchObject({ findings: [], clusterFaults: [], undeleted: [] })
    expect(result.calls).toBeGreaterThan(10)
  })

  it.concurrent('the run of a seed finds duplicates from repeated CreateVolume calls, and deletes volumes whose IDs appear in answers', async () => {
    let made: CsiDriver | undefined
    const result = await seedResult({
      durationMs: 8_000,
      spoil: (driver) => {
        made = driver
        driver.script('CreateVolume', ({ name, capacityRange, volumeContentSource }: CreateVolumeRequest) => {
          const { id } = driver.volumes.add({ name, capacityBytes: capacityRange?.requiredBytes ?? 1n })
          return {
            volume: {
              volumeId: id,
              capacityBytes: 0n,
              volumeContext: {},
              contentSource: volumeContentSource,
              accessibleTopology: [],
            },
          }
        })
      },
    })
    expect(result.findings.map(({ check }) => check)).toEqual(expect.arrayContaining(['oneVolume', 'noLeak']))
    const leak = result.findings.find(({ check }) => check === 'noLeak')
    expect(leak?.calls.join('\n')).toMatch(/CreateVolume pvc-/)
    const named = result.undeleted.map((text) => /^volume (\S+): no answer names it/.exec(text)?.[1])
    expect(made?.volumes.all.map(({ id }) => id)).toEqual(named)
  })

  it.concurrent('the run of a seed finds nothing in a correct driver that creates snapshots', async () => {
    const { callsOf, ...result } = await resultWithSnapshots()
    expect(result).toMatchObject({ findings: [], clusterFaults: [], undeleted: [] })
    expect(callsOf.get('CreateSnapshot')).toBeGreaterThan(3)
    expect(callsOf.get('DeleteSnapshot')).toBeGreaterThan(3)
  })

  it.concurrent('the run of a seed finds a snapshot that its driver does not delete', async () => {
    let kept: string | undefined
    const { findings } = await seedResult({
      snapshots: true,
      durationMs: 6_000,
      spoil: (driver) =>
        driver.script('DeleteSnapshot', (request: DeleteSnapshotRequest) => {
          kept ??= request.snapshotId
          return request.snapshotId === kept ? {} : driver.own('DeleteSnapshot', request)
        }),
    })
    const texts = findings.map(({ check, text }) => `${check}: ${text.replace(/snap-\d+/, 'snap')}`)
    expect(texts).toEqual([
      'ended: snapshot snap was deleted and is listed',
      'noLeak: snapshot snap is left at the driver',
    ])
    expect(findings[1]?.calls.join('\n')).toMatch(/CreateSnapshot snapshot-\S+ vol-\d+ -> OK snap-\d+, /)
  })

  it.concurrent.each([
    ['refuses ListVolumes', 'Unimplemented "not yet"'],
    ['has no last page', 'it has no end, there are more than 1000 pages'],
  ])('the run of a seed finds a driver that %s', async (how, why) => {
    const { findings, clusterFaults } = await seedResult({
      spoil: (driver) =>
        driver.script('ListVolumes', () => {
          if (how === 'has no last page') return { entries: [], nextToken: 'again' }
          throw new DriverFailure('UNIMPLEMENTED', 'not yet')
        }),
    })
    const text = `ListVolumes, of which the driver says that it has it: ${why}`
    expect(findings).toContainEqual(expect.objectContaining({ check: 'listed', about: undefined, text, calls: [] }))
    expect(clusterFaults).toEqual([])
  })

  it.concurrent('the finding about a pod that does not run names a sidecar that has ended', async () => {
    const { findings } = await seedResult({
      attacher: endingProgram(),
      durationMs: 8_000,
      convergeMs: 5_000,
      spoil: (driver) =>
        driver.script('ControllerPublishVolume', () => {
          throw new DriverFailure('INTERNAL', 'no room')
        }),
    })
    const wrong = findings.find(({ check }) => check === 'converges')
    expect(wrong?.text).toMatch(
      /^pod \S+ does not run; ControllerPublishVolume: Internal "no room"; csi-attacher ended with code 3; its log is \//,
    )
  })

  it.concurrent('the run of a seed deletes all volumes at the driver if it is interrupted', async () => {
    const interrupt = new AbortController()
    let made: CsiDriver | undefined
    const result = seedResult({
      signal: interrupt.signal,
      durationMs: 12_000,
      spoil: (driver) => {
        made = driver
        driver.log.subscribe(({ method }) => {
          if (method === 'ControllerPublishVolume') interrupt.abort(new Error('Ctrl-C'))
        })
      },
    })
    expect(await result).toMatchObject({ interrupted: true, findings: [] })
    expect(made?.calls.some(({ method, code }) => method === 'DeleteVolume' && code === 0)).toBe(true)
    expect(made?.volumes.all).toEqual([])
  })
})
