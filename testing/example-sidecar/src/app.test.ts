import { programOf } from '@csi-sidecars/sidecar'
import { runInProcess } from '@csi-sidecars/sidecar/testing'
import { csiNode, startCluster } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { example } from './app.ts'

it('the example sidecar starts with default flags and reconciles each CSINode', async () => {
  await using cluster = await startCluster({ objects: [csiNode()] })
  const stop = new AbortController()
  const args = [`--kubeconfig=${cluster.kubeconfig}`, `--csi-address=${cluster.driver.socket}`]
  const onLog = (text: string): void => {
    if (text.includes('"CSINode" node=')) stop.abort()
  }
  const { ending, log } = await runInProcess(programOf(example), args, { signal: stop.signal, onLog })
  expect(ending).toEqual({ code: 0 })
  expect(log).toMatch(/"Version" .* replaces="no Go sidecar"/)
})
