import { describe, expect, it, jest } from '@jest/globals'
import { seedResult } from './testing/seed-result.ts'

jest.setTimeout(120_000)

/** Side by side: a seed mostly waits. */
describe('a seed with nodes', () => {
  it.concurrent('finds nothing in a driver whose nodes have sockets of their own, and calls all of it', async () => {
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
    const wanted = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume']
    expect([...wanted, 'NodeGetVolumeStats'].filter((each) => !methods.has(each))).toEqual([])
    expect(inZones).toContainEqual(
      expect.objectContaining({ requisite: [expect.objectContaining({ segments: { zone: 'west' } })] }),
    )
  })

  it.concurrent('finds a node that leaves what it should remove, and shortens the path', async () => {
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
