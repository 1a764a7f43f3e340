import process from 'node:process'
import { describe, expect, it } from '@jest/globals'
import { programOf, sidecarBinaries } from './binaries.ts'

describe('sidecarBinaries', () => {
  it('the binaries equal the paths in the flags, if all are given', async () => {
    const given = { attacher: '/a', resizer: '/r', provisioner: '/p', snapshotter: '/s' }
    expect(await sidecarBinaries(given)).toEqual(given)
  })

  it('the binaries run directly, but a script runs with the Node of this process', () => {
    expect(programOf('/bin/csi-attacher')).toEqual({ command: '/bin/csi-attacher', args: [] })
    expect(programOf('/lib/csi-attacher.cjs')).toEqual({ command: process.execPath, args: ['/lib/csi-attacher.cjs'] })
  })
})
