import { expect, it } from '@jest/globals'
import { loadAll } from 'js-yaml'
import { claimObject, exampleFile, podObject } from './objects.ts'

it('the example file is readable YAML with the objects of the demo', () => {
  expect(exampleFile()).not.toContain('{')
  expect(loadAll(exampleFile())).toEqual([
    { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claimObject('1Gi', 'mine') },
    { apiVersion: 'v1', kind: 'Pod', ...podObject({ pod: 'mine', claim: 'mine' }) },
  ])
})
