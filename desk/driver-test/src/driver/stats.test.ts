import { RpcError } from '@csi-sidecars/csi'
import type { ProxiedCall } from '@csi-sidecars/disturb'
import { answered, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { Tracker } from '../checks/tracker.ts'
import { FOLDER, ownNodes } from '../testing/own-nodes.ts'
import { UsageLooks } from './stats.ts'

const signal = new AbortController().signal
const PATH = `${FOLDER}/node-1/target`
const mounted = [...created('pvc', 'vol', 1n), ...answered('NodePublishVolume', { volumeId: 'vol', targetPath: PATH })]

async function looks(answer: () => object, calls: readonly ProxiedCall[] = mounted) {
  const tracker = new Tracker()
  for (const call of calls) tracker.see(call)
  const usage = new UsageLooks(tracker, ownNodes(['a'], { call: async () => answer() as never }))
  const found: string[] = []
  for (let times = 3; times > 0; times -= 1) found.push(...(await usage.check(signal)).map(({ text }) => text))
  return { found, tracker, usage }
}

const fail = (code: number) => () => {
  throw new RpcError(code, 'no such mount')
}
const usage = (total: bigint, used: bigint) => () => ({ usage: [{ unit: 1, total, used, available: 0n }] })

describe('UsageLooks', () => {
  it('the check accepts an answer to NodeGetVolumeStats with or without a usage', async () => {
    expect((await looks(usage(10n, 4n))).found).toEqual([])
    expect((await looks(() => ({ usage: [] }))).found).toEqual([])
  })

  it('two failures of NodeGetVolumeStats in a row cause one finding', async () => {
    expect((await looks(fail(5))).found).toEqual([
      'NodeGetVolumeStats of vol at node-1/target failed: NotFound "no such mount"',
    ])
  })

  it.each([1, 4, 8, 10, 14])('the check accepts code %i of NodeGetVolumeStats, a request to retry', async (code) => {
    expect((await looks(fail(code))).found).toEqual([])
  })

  it('the check reports a usage that is negative or larger than the volume', async () => {
    expect((await looks(usage(4n, 10n))).found).toEqual([
      'NodeGetVolumeStats of vol at node-1/target answered with 10 used of 4',
    ])
    expect((await looks(usage(4n, -1n))).found[0]).toMatch(/less than nothing$/)
  })

  it('the check ignores the answer to NodeGetVolumeStats if another call about the volume runs at the same time', async () => {
    const [begun] = answered('NodeUnpublishVolume', { volumeId: 'vol', targetPath: PATH })
    expect((await looks(fail(5), [...mounted, begun])).found).toEqual([])
    const tracker = new Tracker()
    for (const call of mounted) tracker.see(call)
    const call = async (): Promise<never> => {
      for (const each of answered('NodePublishVolume', { volumeId: 'vol', targetPath: PATH })) tracker.see(each)
      return fail(5)()
    }
    const restless = new UsageLooks(tracker, ownNodes(['a'], { call }))
    expect([await restless.check(signal), await restless.check(signal)].flat()).toEqual([])
  })
})
