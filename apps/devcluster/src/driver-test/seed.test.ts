import type { CreateVolumeRequest } from '@csi-sidecars/csi-proto'
import type { CsiDriver } from '@csi-sidecars/emulator'
import { describe, expect, it, jest } from '@jest/globals'
import { judged } from '../testing/judged.ts'

jest.setTimeout(120_000)

describe('a seed', () => {
  it('finds nothing in a driver that keeps its promises', async () => {
    const result = await judged()
    expect(result).toMatchObject({ findings: [], clusterFaults: [], leftBehind: [] })
    expect(result.calls).toBeGreaterThan(10)
  })

  it('finds a driver that makes a volume for each call, tells the calls, and clears up what is named', async () => {
    let made: CsiDriver | undefined
    const result = await judged({
      durationMs: 8_000,
      spoil: (driver) => {
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
      },
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
    const result = judged({
      signal: interrupt.signal,
      durationMs: 12_000,
      spoil: (driver) => {
        made = driver
        driver.log.subscribe(({ method }) => {
          if (method === 'ControllerPublishVolume') interrupt.abort(new Error('Ctrl-C'))
        })
      },
    })
    await expect(result).rejects.toThrow('Ctrl-C')
    expect(made?.calls.some(({ method, code }) => method === 'DeleteVolume' && code === 0)).toBe(true)
    expect(made?.volumes.all).toEqual([])
  })
})
