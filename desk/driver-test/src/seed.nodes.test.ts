import { describe, expect, it, jest } from '@jest/globals'
import { seedResult } from './testing/seed-result.ts'

jest.setTimeout(120_000)

/** The tests run concurrently, because a seed mostly waits. */
describe('node services', () => {
  it.concurrent('the run of a seed finds nothing in a correct driver, and calls all methods of its node services', async () => {
    const methods = new Set<string>()
    const inZones: unknown[] = []
    const result = await seedResult({
      nodes: 3,
      strict: true,
      durationMs: 7_000,
      spoil: (driver, nodes) => {
        for (const each of [driver, ...nodes]) each.log.subscribe(({ method }) => methods.add(method))
        driver.log.subscribe(({ request }) => inZones.push(request['accessibilityRequirements']))
      },
    })
    expect(result).toMatchObject({ findings: [], clusterFaults: [], undeleted: [] })
    const expected = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume']
    expect([...expected, 'NodeGetVolumeStats'].filter((each) => !methods.has(each))).toEqual([])
    expect(inZones).toContainEqual(
      expect.objectContaining({ requisite: [expect.objectContaining({ segments: { zone: 'west' } })] }),
    )
  })

  it.concurrent('the run of a seed finds a node service that creates no target paths, and shortens the paths in its finding', async () => {
    const { findings } = await seedResult({
      nodes: 2,
      spoil: (_driver, nodes) => {
        for (const node of nodes) node.settings.makesTargets = false
      },
    })
    const [found] = findings.filter(({ check }) => check === 'placed')
    expect(found?.text).toMatch(/^NodePublishVolume of \S+ succeeded, and there is nothing at /)
    expect(found?.calls.join('\n')).toMatch(/NodePublishVolume \S+ node-[12]\/pods\//)
  })
})
