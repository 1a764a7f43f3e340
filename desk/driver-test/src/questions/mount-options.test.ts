import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { NodePublishVolumeRequest, NodeStageVolumeRequest } from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { afterAll, describe, expect, it } from '@jest/globals'
import { type ContentBug, keepContents } from '../testing/contents.ts'
import { type EmulatedParts, foundDirectly } from '../testing/direct-setting.ts'
import { copies } from '../testing/placing.ts'
import { checkMountOptions } from './mount-options.ts'

const folder = mkdtempSync(join(tmpdir(), 'options-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Case {
  readonly bug?: ContentBug
  readonly byDriver?: boolean
  /** True if the test treats every path as mounted. */
  readonly mounted?: boolean
  readonly spoil?: (emulated: EmulatedParts) => void
}

async function found({ bug, byDriver = false, mounted = false, spoil }: Case) {
  const placing = copies()
  return await foundDirectly(
    (emulated) => {
      keepContents(emulated, { folder: join(folder, `${bug}-${byDriver}`), placing, bug })
      spoil?.(emulated)
    },
    checkMountOptions,
    {
      ...(!mounted && { mountOptions: placing.optionsAt }),
      ...(byDriver ? { node: ['VOLUME_MOUNT_GROUP'] } : { fsGroupPolicy: 'File' }),
    },
  )
}

const texts = async (each: Case): Promise<readonly string[]> =>
  (await found(each)).findings.map(({ check, text }) => `${check}: ${text}`)
/** `it` for tests that give files to a group, which only root can do. */
const asRoot = process.getuid?.() === 0 ? it : it.skip

describe('checkMountOptions', () => {
  it('the check of mount options accepts a correct driver, and leaves no volume', async () => {
    expect(await found({})).toEqual({ findings: [], left: [] })
  })

  it('the check of mount options accepts a driver that refuses mount options', async () => {
    const refuse = (): never => {
      throw new DriverFailure('INVALID_ARGUMENT', 'noatime is not supported')
    }
    expect(await texts({ spoil: ({ driver }) => driver.script('CreateVolume', refuse) })).toEqual([])
    const spoil = ({ nodes }: EmulatedParts): void =>
      nodes.forEach((node) => void node.script<NodeStageVolumeRequest, object>('NodeStageVolume', refuse))
    expect(await texts({ spoil })).toEqual([])
  })

  it('the check of mount options finds a driver that ignores mount options', async () => {
    expect(await texts({ bug: 'mount-option-ignored' })).toEqual([
      expect.stringMatching(/^options: volume \S+ is mounted with , without noatime$/),
    ])
  })
})

describe('fsGroup', () => {
  asRoot('a driver with VOLUME_MOUNT_GROUP must give new files to the requested group', async () => {
    expect(await found({ byDriver: true })).toEqual({ findings: [], left: [] })
    expect(await texts({ byDriver: true, bug: 'group-ignored' })).toEqual([
      expect.stringMatching(/^options: volume \S+ has files of group \d+, though it was mounted for group 4321$/),
    ])
  })

  asRoot('the check of mount options finds a volume without group access despite `fsGroupPolicy` File', async () => {
    const placeFile = ({ nodes }: EmulatedParts): void => {
      for (const node of nodes) {
        node.script('NodePublishVolume', (request: NodePublishVolumeRequest) => {
          writeFileSync(request.targetPath, '')
          return {}
        })
      }
    }
    expect(await texts({ spoil: placeFile, mounted: true })).toContainEqual(
      expect.stringMatching(/^options: .*cannot be used by group 4321: ENOTDIR/),
    )
  })
})
