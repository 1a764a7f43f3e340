import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { MountSource } from './desired-state.ts'
import { folderDisk, memoryDisk } from './disk.ts'
import { kubeletPaths } from './paths.ts'

const source: MountSource = {
  kind: 'ephemeral',
  volumeName: 'v',
  name: 'scratch',
  handle: 'h',
  source: { driver: 'd' },
}

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'disk-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe('folderDisk', () => {
  it('the data folder of an emulated kubelet keeps the records of mounts across restarts', () => {
    const record = { source, path: join(root, 'pods/a/mount'), podUid: 'a' }
    folderDisk(root).begin(record)
    expect(folderDisk(root).records()).toEqual([record])
    folderDisk(root).end(record)
    expect(folderDisk(root).records()).toEqual([])
  })

  it('an emulated kubelet with a data folder creates staging paths, but not the last folder of a target path', () => {
    const disk = folderDisk(root)
    const staged = join(root, 'stage/globalmount')
    const target = join(root, 'pods/a/mount')
    disk.begin({ source, path: staged })
    disk.begin({ source, path: target, podUid: 'a' })
    expect([existsSync(staged), existsSync(target), existsSync(dirname(target))]).toEqual([true, false, true])
  })

  it('an emulated kubelet with a data folder removes an empty mount point, but no mount point that contains data', () => {
    const disk = folderDisk(root)
    const [empty, full] = [join(root, 'empty'), join(root, 'full')]
    for (const path of [empty, full]) mkdirSync(path)
    writeFileSync(join(full, 'data'), 'x')
    disk.end({ path: empty })
    disk.end({ path: full })
    expect([existsSync(empty), existsSync(full)]).toEqual([false, true])
  })
})

describe('memoryDisk', () => {
  it('the in-memory disk of an emulated kubelet keeps one record for each path', () => {
    const disk = memoryDisk()
    const record = { source, path: '/s' }
    disk.begin(record)
    disk.begin(record)
    expect(disk.records()).toEqual([record])
    disk.end(record)
    expect(disk.records()).toEqual([])
  })
})

describe('paths', () => {
  const paths = kubeletPaths('/k')
  const volume = { driver: 'd', volumeHandle: 'h', name: 'pv-1' }

  it('every path of the emulated kubelet equals the path of a real kubelet', () => {
    expect([
      paths.staging({ ...volume, block: false }),
      paths.staging({ ...volume, block: true }),
      paths.target({ name: 'pv-1', block: false }, 'u'),
      paths.target({ name: 'pv-1', block: true }, 'u'),
      paths.local('emptyDir', 'cache', 'u'),
    ]).toEqual([
      '/k/plugins/kubernetes.io/csi/d/aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123/globalmount',
      '/k/plugins/kubernetes.io/csi/volumeDevices/staging/pv-1',
      '/k/pods/u/volumes/kubernetes.io~csi/pv-1/mount',
      '/k/plugins/kubernetes.io/csi/volumeDevices/publish/pv-1/u',
      '/k/pods/u/volumes/kubernetes.io~empty-dir/cache',
    ])
  })
})
