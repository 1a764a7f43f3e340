import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { expect, test } from '@jest/globals'
import { pv, va } from './builders.ts'
import type { EmulatedCluster } from './cluster.ts'
import { ANY, runScenario, type ScenarioScript } from './scenario.ts'

/** The program under test in these scenarios. It patches the status of each new attachment. */
async function markAttached(
  cluster: EmulatedCluster,
  signal: AbortSignal,
  body: object = { status: { attached: true } },
): Promise<void> {
  const over = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => over.resolve(), { once: true })
  const leave = cluster.api.onChange(VOLUME_ATTACHMENTS, ({ type, object }) => {
    if (type !== 'ADDED') return
    const url = `${cluster.api.url}/apis/storage.k8s.io/v1/volumeattachments/${object.metadata?.name}/status`
    const headers = { 'content-type': 'application/merge-patch+json' }
    fetch(url, { method: 'PATCH', headers, body: JSON.stringify(body) }).catch(() => undefined)
  })
  await over.promise
  leave()
}

const scenario: ScenarioScript = {
  initial: { objects: [pv()] },
  run: (cluster, signal) => markAttached(cluster, signal),
  when: (cluster) => cluster.add(va()),
  steps: [{ write: 'PATCH volumeattachments/va-1/status', body: { status: { attached: ANY } } }],
}

test('a program that follows the scenario script passes', async () => {
  await runScenario({
    ...scenario,
    check: ({ api }) => {
      expect(api.get(VOLUME_ATTACHMENTS, { name: 'va-1' })?.status?.attached).toBe(true)
      expect(api.get(PERSISTENT_VOLUMES, { name: 'pv-1' })?.spec?.csi?.volumeHandle).toBe('vol-1')
    },
  })
})

test('the scenario fails if the body of a write differs from the script, and the message shows both bodies', async () => {
  const run = (cluster: EmulatedCluster, signal: AbortSignal): Promise<void> =>
    markAttached(cluster, signal, { status: {} })
  await expect(runScenario({ ...scenario, run })).rejects.toThrow(
    /step 1: an unexpected write\n.*<any>.*\n.*"status":\{\}/,
  )
})

test('the scenario fails if the program sends a write that is not in the script', async () => {
  const when = (cluster: EmulatedCluster): void => cluster.add(va(), va('va-2'))
  await expect(runScenario({ ...scenario, when })).rejects.toThrow(
    /step 2: an unexpected write\n {2}expected: nothing more/,
  )
})

test('the scenario fails if a step of the script never happens', async () => {
  const when = (): void => undefined
  await expect(runScenario({ ...scenario, when, timeoutMs: 50 })).rejects.toThrow('step 1: nothing more came in 50 ms')
})
