import { DEFAULT_SETTINGS } from '@csi-sidecars/emulator'
import { describe, expect, it } from '@jest/globals'
import { startTestCluster } from '../testing/cluster.ts'
import { storyOf } from './story.ts'

type Settings = NonNullable<NonNullable<Parameters<typeof startTestCluster>[0]>['driver']>

async function storyWith(driver: Settings, nodes: number) {
  await using test = await startTestCluster({ nodes, driver, controllers: [], substitutes: [] })
  const { steps, leftOut } = storyOf(test.cluster, { nodes: test.cluster.nodeNames, leavesPod: false })
  return { titles: steps.map(({ title }) => title), leftOut, steps }
}

describe('storyOf', () => {
  it('the demo has all its steps if the driver has all capabilities and there are two nodes', async () => {
    const { titles, leftOut } = await storyWith(
      { controller: [...DEFAULT_SETTINGS.controller, 'CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'] },
      2,
    )
    expect(leftOut).toEqual([])
    expect(titles).toEqual([
      'A claim asks for 1Gi and gets a volume',
      'Pod app-1 on node-1 uses it',
      'The claim is raised from 1Gi to 2Gi',
      'A snapshot of it is taken',
      'A claim is restored from the snapshot',
      'A claim clones the volume',
      'The copies and the snapshot are deleted',
      'Its class becomes gold',
      'The pod moves to node-2',
      'Pod and claim are deleted, and the volume with them',
    ])
  })

  it('the demo skips steps that the driver or a single node cannot do, with the reason', async () => {
    const { titles, leftOut } = await storyWith({ controller: ['CREATE_DELETE_VOLUME'], node: [] }, 1)
    expect(leftOut.map(({ why }) => why)).toEqual([
      'the driver does not expand volumes',
      'the driver takes no snapshots',
      'the driver takes no snapshots',
      'the driver does not clone volumes',
      'the driver does not modify volumes',
      'there is one node only',
    ])
    expect(titles).toHaveLength(3)
  })

  it('the demo expects no attach if the driver cannot attach', async () => {
    const { steps } = await storyWith({ controller: ['CREATE_DELETE_VOLUME'], node: [] }, 1)
    const expected = steps.flatMap(({ expects }) => expects.map(({ expected: text }) => text))
    expect(expected.filter((text) => /attach|Attach|Scenario|ControllerPublish/.test(text))).toEqual([])
  })
})
