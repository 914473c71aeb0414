import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { architecture } from './eslint.architecture.js';

export default tseslint.config(
  { ignores: ['dist', 'coverage', 'data', 'test/generated-clients', 'test/ecosystem/feature'] },
  js.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.js', 'bench/*.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: ['better-sqlite3', 'better-sqlite3-12'].map((name) => ({
            name,
            message: 'Import src/database/sqlite/better-sqlite3.ts, which loads the version for this Node.',
            allowTypeImports: true,
          })),
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  architecture(),
  {
    files: ['test/**/*.ts', '**/*.spec.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
    },
  },
  {
    files: ['**/*.js'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: Object.fromEntries(
        ['AbortSignal', 'Buffer', 'console', 'fetch', 'process', 'URL'].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    files: ['src/admin/page/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        ['document', 'location', 'sessionStorage', 'crypto', 'addEventListener', 'FormData', 'URLSearchParams'].map(
          (name) => [name, 'readonly'],
        ),
      ),
    },
  },
);
