import type { CreateVolumeRequest, DeleteSnapshotRequest } from '@csi-sidecars/csi-proto'
import type { CsiDriver } from '@csi-sidecars/emulator'
import { describe, expect, it, jest } from '@jest/globals'
import { seedResult } from './testing/seed-result.ts'

jest.setTimeout(120_000)

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
    const { callsOf, ...result } = await seedResult({ snapshots: true, durationMs: 12_000 })
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
          return request.snapshotId === kept ? {} : driver.usualAnswer('DeleteSnapshot', request)
        }),
    })
    const texts = findings.map(({ check, text }) => `${check}: ${text.replace(/snap-\d+/, 'snap')}`)
    expect(texts).toEqual([
      'ended: snapshot snap was deleted and is listed',
      'noLeak: snapshot snap is left in the back end',
    ])
    expect(findings[1]?.calls.join('\n')).toMatch(/CreateSnapshot snapshot-\S+ vol-\d+ -> OK snap-\d+, /)
  })
})
