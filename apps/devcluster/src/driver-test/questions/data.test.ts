import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type {
  CreateVolumeRequest,
  CreateVolumeResponse,
  NodeGetVolumeStatsRequest,
  NodePublishVolumeRequest,
  NodeUnpublishVolumeRequest,
} from '@csi-sidecars/csi-proto'
import { describe, expect, it } from '@jest/globals'
import { type EmulatedParts, foundDirectly } from '../../testing/direct-setting.ts'
import { checkData } from './data.ts'

type Files = Record<string, string>

interface Faults {
  readonly forgets?: boolean
  readonly staysOnNode?: boolean
  readonly emptyClone?: boolean
  readonly sharedClone?: boolean
  readonly writable?: boolean
  readonly oldSize?: boolean
}

/** Copies files to a target when it is published, and back when it is unpublished. */
function keepFiles(faults: Faults): (parts: EmulatedParts) => void {
  const stores = new Map<string, Files>()
  return ({ driver, nodes }) => {
    driver.script('CreateVolume', (request: CreateVolumeRequest) => {
      const answer = driver.own<CreateVolumeRequest, CreateVolumeResponse>('CreateVolume', request)
      const source = driver.volumes.get(answer.volume?.volumeId ?? '')?.source
      const content = stores.get(source ?? '') ?? {}
      if (source !== undefined && faults.emptyClone !== true) {
        stores.set(answer.volume?.volumeId ?? '', faults.sharedClone === true ? content : { ...content })
      }
      return answer
    })
    for (const node of nodes) {
      const keyOf = (id: string): string => (faults.staysOnNode === true ? `${id} ${node.settings.nodeId}` : id)
      node.script('NodePublishVolume', (request: NodePublishVolumeRequest) => {
        const answer = node.own<object, object>('NodePublishVolume', request)
        const files = stores.get(keyOf(request.volumeId)) ?? {}
        for (const [name, text] of Object.entries(files)) writeFileSync(join(request.targetPath, name), text)
        // Root may write to any file, but to no folder.
        if (request.readonly && faults.writable !== true) mkdirSync(join(request.targetPath, 'csi-devcluster-data-2'))
        return answer
      })
      node.script('NodeUnpublishVolume', (request: NodeUnpublishVolumeRequest) => {
        const files = stores.get(keyOf(request.volumeId)) ?? {}
        for (const name of readdirSync(request.targetPath)) {
          const path = join(request.targetPath, name)
          if (statSync(path).isFile()) files[name] = readFileSync(path, 'utf8')
        }
        if (faults.forgets !== true) stores.set(keyOf(request.volumeId), files)
        return node.own<object, object>('NodeUnpublishVolume', request)
      })
      if (faults.oldSize !== true) continue
      node.script('NodeGetVolumeStats', (_request: NodeGetVolumeStatsRequest) => {
        return { usage: [{ total: 1024n ** 3n, used: 0n, available: 0n, unit: 1 }], volumeCondition: undefined }
      })
    }
  }
}

describe('data', () => {
  it('stays with a correct driver, and nothing is left', async () => {
    expect(await foundDirectly(keepFiles({}), checkData)).toEqual({ findings: [], left: [] })
  })

  it.each<readonly [string, Faults, string, RegExp]>([
    [
      'forgets it',
      { forgets: true },
      'data',
      /has "nothing: ENOENT.* after an unmount and a mount, not "written first"/,
    ],
    ['leaves it on its node', { staysOnNode: true }, 'data', /after a move to another node/],
    ['clones nothing', { emptyClone: true }, 'data', /has "nothing: .* in the clone of vol-/],
    ['shares it with a clone', { sharedClone: true }, 'data', /has "written to the clone" after its clone was written/],
    ['lets a reader write', { writable: true }, 'readOnly', /was mounted to be read, and could be written$/],
    [
      'has the old size',
      { oldSize: true },
      'usage',
      /has 1073741824 bytes by NodeGetVolumeStats, as before its expansion/,
    ],
  ])('is checked: a driver %s', async (_, faults, check, text) => {
    const { findings, left } = await foundDirectly(keepFiles(faults), checkData)
    expect(findings).toContainEqual(expect.objectContaining({ check, text: expect.stringMatching(text) }))
    expect(left).toEqual([])
  })
})
