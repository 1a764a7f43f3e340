import type { ProxiedCall } from '@csi-sidecars/disturb'
import { answered, callOf, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { Tracker } from '../checks/tracker.ts'
import { FOLDER, ownNodes } from '../testing/own-nodes.ts'
import { ClusterRules } from './cluster-rules.ts'

const STAGING = `${FOLDER}/node-1/staging`
const nodeRequest = { volumeId: 'vol', stagingTargetPath: STAGING, targetPath: `${FOLDER}/node-1/target` }
const made = created('pvc', 'vol', 1n)
const attached = answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'a' })
const staged = answered('NodeStageVolume', nodeRequest)
const published = answered('NodePublishVolume', nodeRequest)

function violations(calls: readonly (readonly ProxiedCall[])[], attaches = true): readonly string[] {
  const tracker = new Tracker()
  const rules = new ClusterRules(tracker, ownNodes(['a', 'b']), attaches)
  for (const call of calls.flat()) {
    rules.see(call)
    tracker.see(call)
  }
  return rules.violations
}

describe('ClusterRules', () => {
  it('the cluster rules accept attach, stage, publish, and their reversal', () => {
    const back = [answered('NodeUnpublishVolume', nodeRequest), answered('NodeUnstageVolume', nodeRequest)]
    expect(violations([made, attached, staged, published, ...back])).toEqual([])
  })

  it('the cluster rules require an attach to the node before the stage, if the driver attaches', () => {
    expect(violations([made, staged])).toEqual(['NodeStageVolume of vol was called while it is not attached to a'])
    expect(violations([made, staged], false)).toEqual([])
    const elsewhere = answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'b' })
    expect(violations([made, elsewhere, staged])).toHaveLength(1)
  })

  it('the cluster rules require a stage before the publish, or an attach if the driver has no stage', () => {
    expect(violations([made, attached, published])).toEqual([
      'NodePublishVolume of vol was called while it is not staged on a',
    ])
    const [bare] = answered('NodePublishVolume', { ...nodeRequest, stagingTargetPath: '' })
    expect(violations([made, attached, [bare]])).toEqual([])
    expect(violations([made, [bare]])).toEqual(['NodePublishVolume of vol was called while it is not attached to a'])
  })

  it('the cluster rules require an unpublish before the unstage on the same node', () => {
    const unstage = [callOf('NodeUnstageVolume', nodeRequest)]
    expect(violations([made, attached, staged, published, unstage])).toEqual([
      'NodeUnstageVolume of vol was called while it is published on a',
    ])
    const other = [callOf('NodeUnstageVolume', { ...nodeRequest, stagingTargetPath: `${FOLDER}/node-2/staging` })]
    expect(violations([made, attached, staged, published, other])).toEqual([])
  })

  it('the cluster rules ignore inline volumes', () => {
    const inline = answered('NodePublishVolume', { volumeId: 'csi-1', targetPath: nodeRequest.targetPath })
    expect(violations([inline, inline])).toEqual([])
  })
})
