import base from './jest.config.base.mjs'

/** `npx jest FILE` from the root: each package is a project with its own configuration. */
export default {
  projects: [
    'apps/*',
    'libs/*',
    'desk/*',
    'testing/{testkit,conformance,fuzz,example-sidecar,node}',
    'charts',
    'images',
    'tools/{command,docs}',
  ].map((folder) => `<rootDir>/${folder}`),
  testTimeout: base.testTimeout,
}
