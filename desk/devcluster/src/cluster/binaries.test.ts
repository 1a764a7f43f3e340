import process from 'node:process'
import { describe, expect, it } from '@jest/globals'
import { programOf, sidecarBinaries } from './binaries.ts'

describe('sidecarBinaries', () => {
  it('the cluster uses the path that the user gives for each sidecar', async () => {
    const given = { attacher: '/a', resizer: '/r', provisioner: '/p', snapshotter: '/s' }
    expect(await sidecarBinaries(given)).toEqual(given)
  })

  it('the cluster runs a binary directly, and a script with the Node.js of this process', () => {
    expect(programOf('/bin/csi-attacher')).toEqual({ command: '/bin/csi-attacher', args: [] })
    expect(programOf('/lib/csi-attacher.cjs')).toEqual({ command: process.execPath, args: ['/lib/csi-attacher.cjs'] })
  })
})
