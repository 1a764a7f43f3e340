import base from '../jest.config.base.mjs'

export default { ...base, testMatch: ['<rootDir>/{tools,release,patch,vex}/**/*.test.ts'] }
