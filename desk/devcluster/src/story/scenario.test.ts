import { systemClock } from '@csi-sidecars/base'
import { PERSISTENT_VOLUME_CLAIMS, PODS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { inDefault, isRunning, podOf, startTestCluster } from '../testing/cluster.ts'
import { StoryScenario } from './scenario.ts'

const live = new AbortController().signal

async function onScenario(
  work: (stage: StoryScenario, reported: string[], test: Awaited<ReturnType<typeof startTestCluster>>) => Promise<void>,
) {
  await using test = await startTestCluster()
  const reported: string[] = []
  const scenario = new StoryScenario({ cluster: test.cluster, clock: systemClock, stepMs: 15_000, pauseMs: 0 })
  scenario.addPrinter({
    step: (number) => reported.push(`begins ${number}`),
    line: () => undefined,
    ended: (number) => reported.push(`ends ${number}`),
  })
  await work(scenario, reported, test)
}

describe('Scenario', () => {
  it('the demo runs up to a step, and continues from there', async () => {
    await onScenario(async (scenario, reported, { api }) => {
      expect(await scenario.runTo(2, live)).toEqual({ kind: 'succeeded' })
      expect(reported).toEqual(['begins 1', 'ends 1', 'begins 2', 'ends 2'])
      expect(await scenario.runTo(3, live)).toEqual({ kind: 'succeeded' })
      expect(reported.slice(4)).toEqual(['begins 3', 'ends 3'])
      expect(api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.status?.capacity).toEqual({ storage: '2Gi' })
    })
  })

  it('the demo shows the tag that the provisioner makes of the label of the claim', async () => {
    await using test = await startTestCluster({ hasParameterTemplates: true })
    const lines: string[] = []
    const scenario = new StoryScenario({ cluster: test.cluster, clock: systemClock, stepMs: 15_000, pauseMs: 0 })
    scenario.addPrinter({
      step: () => undefined,
      line: ({ who, text }) => lines.push(`${who}: ${text}`),
      ended: () => undefined,
    })
    expect(await scenario.runTo(1, live)).toEqual({ kind: 'succeeded' })
    expect(test.driver.volumes.all).toMatchObject([{ parameters: { tags: 'team=db' } }])
    expect(lines).toContainEqual(expect.stringMatching(/^csi-provisioner: CreateVolume pvc-\S+ with team=db, /))
  })

  it('the demo cleans up and starts again if the requested step is earlier than the last step that ran', async () => {
    await onScenario(async (scenario, reported, test) => {
      const { api } = test
      await scenario.runTo(2, live)
      api.create(PODS, podOf('guest', 'node-1', 'data'))
      await test.until(PODS, inDefault('guest'), isRunning)
      const first = api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.metadata?.uid
      expect(await scenario.runTo(1, live)).toEqual({ kind: 'succeeded' })
      expect(reported.slice(4)).toEqual(['begins 1', 'ends 1'])
      expect(api.get(PODS, inDefault('app-1'))).toBeUndefined()
      expect(api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.metadata?.uid).not.toBe(first)
    })
  })

  it('on request, the demo keeps a claim and its pod at its end, and deletes both at its next start', async () => {
    // The driver has no MODIFY_VOLUME, because the substitute for the resizer does not modify volumes.
    const driver = { controller: ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] } as const
    await using test = await startTestCluster({ driver })
    const options = { cluster: test.cluster, clock: systemClock, stepMs: 15_000, pauseMs: 0, leavesPod: true }
    const scenario = new StoryScenario(options)
    expect(await scenario.runAll(live)).toEqual({ kind: 'succeeded' })
    expect(scenario.steps.at(-1)?.title).toBe('A new claim, and pod app-1 on node-1, which stay')
    expect(test.api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.status?.phase).toBe('Bound')
    expect(test.api.list(PODS).map(({ metadata, status }) => [metadata?.name, status?.phase])).toEqual([
      ['app-1', 'Running'],
    ])
    expect(await scenario.runTo(1, live)).toEqual({ kind: 'succeeded' })
    expect(test.api.list(PODS)).toEqual([])
  })

  it('the demo refuses a second run at the same time, and an unknown step', async () => {
    await onScenario(async (scenario) => {
      const running = scenario.runTo(1, live)
      await expect(scenario.runAll(live)).rejects.toThrow('The story is running.')
      await running
      await expect(scenario.runTo(7, live)).rejects.toThrow('There is no step 7.')
    })
  })
})
