import { join } from 'node:path'
import { ControllerPublishVolume, type ControllerPublishVolumeResponse } from '@csi-sidecars/csi-proto'
import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import type { EmulatedCluster } from './cluster.ts'
import { runScenario, type ScenarioStep } from './scenario.ts'

const seen: string[] = []

/** The program under test in these scenarios. It publishes volumes one after another. */
async function publishAll(cluster: EmulatedCluster, ids: readonly string[]): Promise<void> {
  const client = new Client(`unix:${join(cluster.directory, 'csi.sock')}`, credentials.createInsecure())
  for (const volumeId of ids) {
    const { path, requestSerialize, responseDeserialize } = ControllerPublishVolume
    const accessMode = { mode: 1 as const }
    const volumeCapability = { accessType: { $case: 'block' as const, value: {} }, accessMode }
    const request = { volumeId, nodeId: 'n', volumeCapability, readonly: false, secrets: {}, volumeContext: {} }
    await new Promise<void>((resolve) => {
      const answered = (error: ServiceError | null, response?: ControllerPublishVolumeResponse): void => {
        seen.push(error === null ? JSON.stringify(response?.publishContext) : error.details)
        resolve()
      }
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, answered)
    })
  }
  client.close()
}

const call = (volumeId: string, rest: object = {}): ScenarioStep => ({
  call: 'ControllerPublishVolume',
  request: { volumeId },
  ...rest,
})

function scenario(ids: readonly string[], steps: readonly ScenarioStep[]): Promise<void> {
  seen.length = 0
  return runScenario({ run: (cluster) => publishAll(cluster, ids), steps, timeoutMs: 30_000 })
}

test('the script can set the answer to a driver call, which the emulated driver answers by default', async () => {
  await scenario(
    ['a', 'b', 'c'],
    [call('a', { reply: { publishContext: { own: 'reply' } } }), call('b', { fail: ['ABORTED', 'busy'] }), call('c')],
  )
  expect(seen).toEqual(['{"own":"reply"}', 'busy', '{"device":"/dev/disk/by-id/c"}'])
})

test('an unexpected driver call is refused and fails the scenario', async () => {
  await expect(scenario(['a', 'x'], [call('a')])).rejects.toThrow(
    /step 2: an unexpected call\n {2}expected: nothing more/,
  )
})

test('the scenario fails if driver calls come in a different order than in the script', async () => {
  await expect(scenario(['b', 'a'], [call('a'), call('b')])).rejects.toThrow(/step 1: an unexpected call/)
})

test('the scenario fails if the program under test throws an error', async () => {
  const run = (): Promise<void> => Promise.reject(new Error('the program broke'))
  await expect(runScenario({ run, steps: [call('a')] })).rejects.toThrow('the program broke')
})
