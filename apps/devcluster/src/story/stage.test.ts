import { systemClock } from '@csi-sidecars/base'
import { PERSISTENT_VOLUME_CLAIMS, PODS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { inDefault, isRunning, podOf, startTestCluster } from '../testing/cluster.ts'
import { Stage } from './stage.ts'

const live = new AbortController().signal

async function onStage(
  work: (stage: Stage, told: string[], test: Awaited<ReturnType<typeof startTestCluster>>) => Promise<void>,
) {
  await using test = await startTestCluster()
  const told: string[] = []
  const stage = new Stage({ cluster: test.cluster, clock: systemClock, chapterMs: 15_000, pauseMs: 0 })
  stage.tellTo({
    chapter: (number) => told.push(`begins ${number}`),
    line: () => undefined,
    ended: (number) => told.push(`ends ${number}`),
  })
  await work(stage, told, test)
}

describe('the stage', () => {
  it('tells the story as far as somebody wants to see it, and goes on from there', async () => {
    await onStage(async (stage, told, { api }) => {
      expect(await stage.playTo(2, live)).toEqual({ is: 'true' })
      expect(told).toEqual(['begins 1', 'ends 1', 'begins 2', 'ends 2'])
      expect(await stage.playTo(3, live)).toEqual({ is: 'true' })
      expect(told.slice(4)).toEqual(['begins 3', 'ends 3'])
      expect(api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.status?.capacity).toEqual({ storage: '2Gi' })
    })
  })

  it('begins again on a clean stage for a chapter that was told', async () => {
    await onStage(async (stage, told, test) => {
      const { api } = test
      await stage.playTo(2, live)
      api.create(PODS, podOf('guest', 'node-1', 'data'))
      await test.until(PODS, inDefault('guest'), isRunning)
      const first = api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.metadata?.uid
      expect(await stage.playTo(1, live)).toEqual({ is: 'true' })
      expect(told.slice(4)).toEqual(['begins 1', 'ends 1'])
      expect(api.get(PODS, inDefault('app-1'))).toBeUndefined()
      expect(api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.metadata?.uid).not.toBe(first)
    })
  })

  it('tells one story at a time, and no chapter that it does not have', async () => {
    await onStage(async (stage) => {
      const telling = stage.playTo(1, live)
      await expect(stage.playAll(live)).rejects.toThrow('The story is being told.')
      await telling
      await expect(stage.playTo(7, live)).rejects.toThrow('There is no chapter 7.')
    })
  })
})
