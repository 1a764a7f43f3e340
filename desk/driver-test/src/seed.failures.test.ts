import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CsiDriver, DriverFailure } from '@csi-sidecars/emulator'
import { afterAll, describe, expect, it, jest } from '@jest/globals'
import { seedResult } from './testing/seed-result.ts'

jest.setTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'seed-'))
afterAll(() => rmSync(folder, { recursive: true }))

function endingProgram(): string {
  const path = join(folder, 'ends')
  writeFileSync(path, '#!/bin/sh\nexit 3\n', { mode: 0o755 })
  return path
}

/** The tests run concurrently, because a seed mostly waits. */
describe('runSeed', () => {
  it.concurrent('the run of a seed finds a driver that refuses ListVolumes', async () => {
    const { findings, clusterFaults } = await seedResult({
      spoil: (driver) =>
        driver.script('ListVolumes', () => {
          throw new DriverFailure('UNIMPLEMENTED', 'not yet')
        }),
    })
    const text = 'ListVolumes, of which the driver says that it has it: Unimplemented "not yet"'
    expect(findings).toContainEqual(expect.objectContaining({ check: 'listed', subjectId: undefined, text, calls: [] }))
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

  it.concurrent('the run of a seed deletes all volumes in the back end if it is interrupted', async () => {
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
