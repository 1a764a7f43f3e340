import base from '../jest.config.base.mjs'

export default { ...base, testMatch: ['<rootDir>/{npm,tools,release,patch,upstream,vex}/**/*.test.ts'] }
