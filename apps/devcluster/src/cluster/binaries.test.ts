import process from 'node:process'
import { describe, expect, it } from '@jest/globals'
import { programOf, sidecarBinaries } from './binaries.ts'

describe('a binary', () => {
  it('equals the given path', async () => {
    const given = { attacher: '/a', resizer: '/r', provisioner: '/p', snapshotter: '/s' }
    expect(await sidecarBinaries(given)).toEqual(given)
  })

  it('runs by itself, or by our Node where it is a script', () => {
    expect(programOf('/bin/csi-attacher')).toEqual({ command: '/bin/csi-attacher', args: [] })
    expect(programOf('/lib/csi-attacher.cjs')).toEqual({ command: process.execPath, args: ['/lib/csi-attacher.cjs'] })
  })
})
